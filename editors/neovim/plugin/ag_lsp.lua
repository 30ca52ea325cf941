-- Defines the highlight groups and the handler that runs when the server attaches to a buffer.

if vim.g.loaded_ag_lsp then
  return
end
vim.g.loaded_ag_lsp = true

local function colours()
  vim.api.nvim_set_hl(0, 'AgMatchingLine', { default = true, link = 'Visual' })
  vim.api.nvim_set_hl(0, '@lsp.mod.staged', { default = true, underline = true })
end

local group = vim.api.nvim_create_augroup('ag_lsp', {})

colours()
vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = colours })

-- Neovim itself only logs that a server cannot be started.
vim.api.nvim_create_autocmd('FileType', {
  group = group,
  pattern = 'python',
  callback = function()
    return require('ag_lsp.binary').warn_if_missing()
  end,
})

vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'ag_lsp' then
      require('ag_lsp').attach(client, event.buf)
    end
  end,
})
