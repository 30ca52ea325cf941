-- The full view shows the code that is executed; the simplified view omits wrappers.
local editor = require('editor')

local buffer = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')
editor.go_to(buffer, 'norm > limit')

local function opened(view)
  return editor.wait('the view ' .. view, function()
    for _, shown in ipairs(vim.api.nvim_list_bufs()) do
      local name = vim.api.nvim_buf_get_name(shown)
      if name:find('^ag%-converted:') and name:find('view=' .. view, 1, true) then
        return shown
      end
    end
  end)
end

vim.cmd.AgConverted('simplified')
local simplified = opened('simplified')
vim.api.nvim_set_current_win(vim.fn.bufwinid(simplified))
vim.cmd.AgConverted()
local full = opened('full')
assert(#editor.text(full) > #editor.text(simplified))
