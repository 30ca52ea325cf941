-- A finding can be suppressed on its line.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')

editor.go_to(buffer, 'if norm > limit')
vim.lsp.buf.code_action({
  filter = function(action)
    return action.title:lower():find('suppress') ~= nil or action.title:lower():find('ignore') ~= nil
  end,
  apply = true,
})
editor.wait('the comment', function()
  return editor.text(buffer):find('if norm > limit:  # ag: ignore[AG101]', 1, true)
end)
