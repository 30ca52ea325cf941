-- Pages from the server: the explanation of a staged function, and the status.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'norm > limit')
vim.cmd.AgExplain()
local page = editor.float()
assert(page:find('clip') and page:find('norm > limit', 1, true), page)
vim.cmd.fclose()

vim.cmd.AgStatus()
page = editor.float()
assert(page:find('ag%-lsp'), page)
