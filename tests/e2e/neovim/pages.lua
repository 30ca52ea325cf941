-- The pages that the server writes: why a function is staged, and how the server is.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'norm > limit')
vim.cmd.AgExplain()
local said = editor.float()
assert(said:find('clip') and said:find('norm > limit', 1, true), said)
vim.cmd.fclose()

vim.cmd.AgStatus()
said = editor.float()
assert(said:find('ag%-lsp'), said)
