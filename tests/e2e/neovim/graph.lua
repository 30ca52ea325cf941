-- The lens "Show graph" prompts for inputs and opens a page in the browser, which is redrawn on save.
local editor = require('editor')

local prompts, opened, messages = {}, {}, {}
vim.ui.input = function(options, answer)
  table.insert(prompts, options)
  answer('n=i64[] limit=7')
end
vim.ui.open = function(address)
  table.insert(opened, address)
  return {}
end
vim.notify = function(message)
  table.insert(messages, message)
end

local buffer, client = editor.open('program.py')
vim.lsp.codelens.refresh({ bufnr = buffer })
local lens = editor.wait('the lens', function()
  return vim.iter(vim.lsp.codelens.get(buffer)):find(function(lens)
    return lens.command and lens.command.title == 'Show graph'
  end)
end)
assert(lens.range.start.line == editor.find(buffer, 'def collatz'))
client:exec_cmd(lens.command, { bufnr = buffer })
local page = editor.wait('the browser', function()
  return opened[1]
end)
assert(prompts[1].default == 'n=i64[]', vim.inspect(prompts))

local drawing = page:gsub('^file://', ''):gsub('html$', 'svg')
local function drawn()
  local file = io.open(drawing)
  local text = file and file:read('*a') or ''
  if file then
    file:close()
  end
  return text
end
assert(drawn():find('while', 1, true) and drawn():find('3 * n + 1', 1, true), drawn())

-- Saving redraws the page without opening the browser again.
local line = editor.find(buffer, 'n = n // 2')
vim.api.nvim_buf_set_lines(buffer, line, line + 1, false, { '        n = n // 2 if n % 2 == 0 else 5 * n + 1' })
vim.cmd.AgGraph('n=i64[]')
assert(messages[1]:find('save the file first', 1, true), vim.inspect(messages))
vim.cmd.write()
editor.wait('the new graph', function()
  return drawn():find('5 * n + 1', 1, true)
end)
assert(#opened == 1 and #prompts == 1)

-- Errors are reported.
editor.go_to(buffer, 'steps = 0')
vim.cmd.AgGraph('n=i64[two]')
editor.wait('what is wrong', function()
  return vim.iter(messages):find(function(message)
    return message:find('invalid size `two` in `n=i64[two]`', 1, true)
  end)
end)
