-- An opened file has findings with code and why-chain; an edit removes one of them.
local editor = require('editor')

local buffer = editor.open('model.py')
local found = editor.diagnostic(buffer, 'AG101')

assert(found.severity == vim.diagnostic.severity.ERROR)
assert(found.source == 'ag-lsp')
assert(found.lnum == editor.find(buffer, 'if norm > limit'))
local lsp = found.user_data.lsp
assert(#lsp.relatedInformation > 0, 'no why-chain')
assert(#vim.diagnostic.get(buffer) == 2)

local line = editor.find(buffer, 'norm = ')
vim.api.nvim_buf_set_lines(buffer, line, line, false, { '    scale = 1.0' })
editor.wait('the finding to go', function()
  return #vim.diagnostic.get(buffer) == 1
end)
