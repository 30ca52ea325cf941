-- Hover on a Python condition explains why it is not staged.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'if verbose')
vim.api.nvim_win_set_cursor(0, { vim.api.nvim_win_get_cursor(0)[1], 7 })
vim.lsp.buf.hover()
local text = editor.float()
assert(text:lower():find('python'), text)
assert(text:find('bool'), 'missing why-chain: ' .. text)
