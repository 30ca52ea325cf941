-- Where the binary is not there, the first Python file tells what to do, and a second one says nothing more.
local editor = require('editor')

vim.lsp.config('ag_lsp', { cmd = { '/missing/ag-lsp', 'server' } })
local said = {}
vim.notify = function(message, level)
  table.insert(said, { message = message, level = level })
end

vim.cmd.edit('model.py')
vim.cmd.edit('program.py')
assert(#said == 1, vim.inspect(said))
assert(said[1].level == vim.log.levels.WARN)
assert(said[1].message:find('`/missing/ag-lsp` is not executable', 1, true), said[1].message)
assert(said[1].message:find('cargo install --locked --path server', 1, true), said[1].message)

vim.cmd.checkhealth('ag_lsp')
assert(editor.text(0):find('ERROR `/missing/ag-lsp` is not executable', 1, true), editor.text(0))
