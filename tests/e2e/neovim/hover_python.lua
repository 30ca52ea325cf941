-- Hover says of a condition that Python decides it, and why.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'if verbose')
vim.api.nvim_win_set_cursor(0, { vim.api.nvim_win_get_cursor(0)[1], 7 })
vim.lsp.buf.hover()
local said = editor.float()
assert(said:lower():find('python'), said)
assert(said:find('bool'), 'the reason is missing: ' .. said)
