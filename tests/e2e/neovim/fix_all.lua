-- `source.fixAll.ag-lsp` applies all safe fixes of the file.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG109')

vim.lsp.buf.code_action({ context = { only = { 'source.fixAll.ag-lsp' }, diagnostics = {} }, apply = true })
editor.wait('the repaired text', function()
  return editor.text(buffer):find('if tf.math.count_nonzero(values) == 0:', 1, true)
end)
