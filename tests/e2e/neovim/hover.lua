-- Hover says of a condition whether it is staged, and why.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'norm > limit')
vim.lsp.buf.hover()
local said = editor.float()
assert(said:find('staged'), said)
assert(said:find('tf.norm', 1, true), 'the reason is missing: ' .. said)
