-- Shared by the scenarios: configures the plugin with the server in AG_LSP, and opens files.

local M = {}

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2))))))
vim.opt.runtimepath:prepend(root .. '/editors/neovim')
vim.cmd.runtime('plugin/ag_lsp.lua')

vim.lsp.config('ag_lsp', { cmd = { assert(vim.env.AG_LSP), 'server' } })
vim.lsp.enable('ag_lsp')

--- Waits until `condition` returns a value. The error message on timeout contains `what`.
---@generic T
---@param what string
---@param condition fun(): T?
---@return T
function M.wait(what, condition)
  local answer
  local came = vim.wait(60000, function()
    answer = condition()
    return answer
  end, 10)
  assert(came, 'timeout while waiting for ' .. what)
  return answer
end

--- Opens a file of the project (the working directory) and waits for the server.
---@return integer buffer
---@return vim.lsp.Client client
function M.open(name)
  vim.cmd.edit(name)
  local buffer = vim.api.nvim_get_current_buf()
  local client = M.wait('the server', function()
    local client = vim.lsp.get_clients({ bufnr = buffer, name = 'ag_lsp' })[1]
    return client and client.initialized and client
  end)
  return buffer, client
end

--- Waits for the diagnostic of a rule.
function M.diagnostic(buffer, code)
  return M.wait('a diagnostic ' .. code, function()
    for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
      if diagnostic.code == code then
        return diagnostic
      end
    end
  end)
end

--- The 0-based line and the column of the first occurrence of `text`.
function M.find(buffer, text)
  for line, content in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = content:find(text, 1, true)
    if column then
      return line - 1, column - 1
    end
  end
  error(('no `%s` in the buffer'):format(text))
end

--- Moves the cursor to the first occurrence of `text`, like a user.
function M.go_to(buffer, text)
  local line, column = M.find(buffer, text)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(buffer))
  vim.api.nvim_win_set_cursor(0, { line + 1, column })
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = buffer })
end

function M.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

--- Waits for a floating window and returns its text.
function M.float()
  return M.wait('a floating window', function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        return M.text(vim.api.nvim_win_get_buf(window))
      end
    end
  end)
end

return M
