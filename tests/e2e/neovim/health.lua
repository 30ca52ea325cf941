-- The health check names the binary and its version.
local editor = require('editor')

editor.open('model.py')
vim.cmd.checkhealth('ag_lsp')
local said = editor.text(0)
assert(said:find(vim.env.AG_LSP, 1, true), said)
assert(not said:find('ERROR') and not said:find('WARNING'), said)
