-- The server exits when it is stopped, and works again after a restart.
local editor = require('editor')

local buffer, client = editor.open('model.py')
editor.diagnostic(buffer, 'AG101')
client:stop()
editor.wait('the end of the server', function()
  return client:is_stopped()
end)
vim.diagnostic.reset()
vim.cmd.edit()
editor.diagnostic(buffer, 'AG101')
