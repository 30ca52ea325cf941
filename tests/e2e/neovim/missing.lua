-- Without the binary, opening a Python file shows how to install it, once.
local editor = require('editor')

vim.lsp.config('ag_lsp', { cmd = { '/missing/ag-lsp', 'server' } })
local shown = {}
vim.notify = function(message, level)
  table.insert(shown, { message = message, level = level })
end

vim.cmd.edit('model.py')
vim.cmd.edit('program.py')
assert(#shown == 1, vim.inspect(shown))
assert(shown[1].level == vim.log.levels.WARN)
assert(shown[1].message:find('`/missing/ag-lsp` is not executable', 1, true), shown[1].message)
assert(shown[1].message:find('cargo install --locked --path server', 1, true), shown[1].message)

vim.cmd.checkhealth('ag_lsp')
assert(editor.text(0):find('ERROR `/missing/ag-lsp` is not executable', 1, true), editor.text(0))
