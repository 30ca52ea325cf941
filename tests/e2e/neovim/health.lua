-- The health check shows the binary and its version.
local editor = require('editor')

editor.open('model.py')
vim.cmd.checkhealth('ag_lsp')
local report = editor.text(0)
assert(report:find(vim.env.AG_LSP, 1, true), report)
assert(not report:find('ERROR') and not report:find('WARNING'), report)
