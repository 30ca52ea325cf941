-- Inlay hints show what is staged, and are updated after edits.
local editor = require('editor')

local buffer = editor.open('model.py')
vim.lsp.inlay_hint.enable(true, { bufnr = buffer })

local staged = editor.find(buffer, 'if norm > limit')
local function hints()
  return vim.iter(vim.lsp.inlay_hint.get({ bufnr = buffer })):map(function(hint)
    local label = hint.inlay_hint.label
    return { hint.inlay_hint.position.line, type(label) == 'table' and label[1].value or label }
  end)
end
editor.wait('the hint `staged`', function()
  return hints():any(function(hint)
    return hint[1] == staged and hint[2]:find('staged')
  end)
end)
-- `python` is off by default.
assert(not hints():any(function(hint)
  return hint[2]:find('python')
end))
