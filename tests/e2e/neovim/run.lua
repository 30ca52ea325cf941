-- The lens "Run" runs the program in a terminal.
local editor = require('editor')

local buffer, client = editor.open('program.py')
vim.lsp.codelens.refresh({ bufnr = buffer })
local lens = editor.wait('the lens', function()
  return vim.iter(vim.lsp.codelens.get(buffer)):find(function(lens)
    return lens.command and lens.command.title == 'Run'
  end)
end)
assert(lens.range.start.line == editor.find(buffer, 'if __name__'))
client:exec_cmd(lens.command, { bufnr = buffer })
local terminal = vim.api.nvim_get_current_buf()
assert(terminal ~= buffer and vim.bo[terminal].buftype == 'terminal')
editor.wait('the output of the program', function()
  return editor.text(terminal):find('collatz 100', 1, true)
end)
