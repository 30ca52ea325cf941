-- The converted code is shown beside the source, updated with it, and corresponding lines are highlighted.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')
editor.go_to(buffer, 'norm > limit')
vim.cmd.AgConverted()

local converted = editor.wait('the converted buffer', function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local shown = vim.api.nvim_win_get_buf(window)
    if vim.api.nvim_buf_get_name(shown):find('^ag%-converted:') then
      return shown
    end
  end
end)
assert(editor.text(converted):find('if_stmt', 1, true), editor.text(converted))
assert(not editor.text(converted):find('def .*largest'), 'contains a function other than the one under the cursor')
assert(vim.bo[converted].filetype == 'python' and not vim.bo[converted].modifiable)

-- The converted code is updated after edits.
local line = editor.find(buffer, 'return gradient * scale')
vim.api.nvim_buf_set_lines(buffer, line, line + 1, false, { '    return gradient * scale * 12345' })
editor.wait('the converted code to follow', function()
  return editor.text(converted):find('12345', 1, true)
end)

-- Corresponding lines are highlighted.
local marks = vim.api.nvim_get_namespaces().ag_lsp_matching
local function lit(side)
  return vim.iter(vim.api.nvim_buf_get_extmarks(side, marks, 0, -1, {})):map(function(mark)
    return mark[2]
  end):totable()
end
editor.go_to(buffer, 'gradient * scale')
editor.wait('the matching line', function()
  editor.go_to(buffer, 'gradient * scale')
  return vim.deep_equal(lit(converted), { (editor.find(converted, '12345')) })
end)
assert(vim.deep_equal(lit(buffer), { (editor.find(buffer, '12345')) }))

-- Definition jumps from the converted code to the source.
vim.api.nvim_set_current_win(vim.fn.bufwinid(converted))
vim.api.nvim_win_set_cursor(0, { editor.find(converted, '12345') + 1, 12 })
vim.lsp.buf.definition()
editor.wait('the source', function()
  return vim.api.nvim_get_current_buf() == buffer
    and vim.api.nvim_win_get_cursor(0)[1] - 1 == editor.find(buffer, '12345')
end)
