-- `:checkhealth ag_lsp`: checks the requirements and suggests remedies.

local M = {}

function M.check()
  local health = vim.health
  health.start('ag-lsp')

  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is required')
    return
  end
  health.ok('Neovim ' .. tostring(vim.version()))

  local binary = require('ag_lsp.binary')
  local command = binary.configured()
  if command and binary.is_missing(command) then
    health.error(('`%s` is not executable'):format(command), binary.advice)
  elseif command then
    local run = vim.system({ command, 'version' }, { text = true }):wait(5000)
    if run.code == 0 then
      health.ok(('`%s`: %s'):format(vim.fn.exepath(command), vim.trim(run.stdout)))
    else
      health.error(('`%s version` failed with %d'):format(command, run.code))
    end
  end

  if vim.lsp.is_enabled and not vim.lsp.is_enabled('ag_lsp') then
    health.warn('not enabled', { "Add `vim.lsp.enable('ag_lsp')` to your init.lua" })
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'ag_lsp' })) do
    health.ok(('running in `%s`'):format(client.root_dir or 'no root'))
  end
end

return M
