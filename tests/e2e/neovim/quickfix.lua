-- A quick fix is offered anywhere on the line of the finding; choosing it changes the text.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG109')

editor.go_to(buffer, 'if not tf.math')
vim.lsp.buf.code_action({
  filter = function(action)
    return action.kind == 'quickfix' and action.title:find('== 0', 1, true) ~= nil
  end,
  apply = true,
})
editor.wait('the repaired text', function()
  return editor.text(buffer):find('if tf.math.count_nonzero(values) == 0:', 1, true)
end)
editor.wait('the finding to go', function()
  return #vim.diagnostic.get(buffer) == 1
end)
