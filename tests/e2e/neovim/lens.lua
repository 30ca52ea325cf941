-- A lens above a staged function opens its converted code.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')
local root = editor.find(buffer, 'def clip')

local function lens(title)
  for _, lens in ipairs(vim.lsp.codelens.get(buffer)) do
    -- The lens is at the function's name or decorator.
    local near = math.abs(lens.range.start.line - root) <= 1
    if near and lens.command and lens.command.title:lower():find(title) then
      return lens
    end
  end
end
vim.lsp.codelens.refresh({ bufnr = buffer })
local shown = editor.wait('the lens', function()
  return lens('converted')
end)

vim.api.nvim_win_set_cursor(0, { shown.range.start.line + 1, 0 })
local client = vim.lsp.get_clients({ bufnr = buffer })[1]
client:exec_cmd(shown.command, { bufnr = buffer })
editor.wait('the converted buffer', function()
  return vim.iter(vim.api.nvim_list_bufs()):any(function(other)
    return vim.api.nvim_buf_get_name(other):find('^ag%-converted:') ~= nil
  end)
end)
