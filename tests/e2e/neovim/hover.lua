-- Hover on a staged condition explains why it is staged.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'norm > limit')
vim.lsp.buf.hover()
local text = editor.float()
assert(text:find('staged'), text)
assert(text:find('tf.norm', 1, true), 'missing why-chain: ' .. text)
