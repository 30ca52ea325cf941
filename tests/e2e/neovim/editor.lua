-- What the scenarios share: a Neovim with the plugin, the server named in AG_LSP, and an opened file.

local M = {}

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2))))))
vim.opt.runtimepath:prepend(root .. '/editors/neovim')
vim.cmd.runtime('plugin/ag_lsp.lua')

vim.lsp.config('ag_lsp', { cmd = { assert(vim.env.AG_LSP), 'server' } })
vim.lsp.enable('ag_lsp')

--- Waits until `question` answers with something; `what` is said where it never does.
---@generic T
---@param what string
---@param question fun(): T?
---@return T
function M.wait(what, question)
  local answer
  local came = vim.wait(60000, function()
    answer = question()
    return answer
  end, 10)
  assert(came, 'waited in vain for ' .. what)
  return answer
end

--- Opens a file of the project, which is the working directory, and waits for the server.
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

--- The diagnostic of a rule, once it is there.
function M.diagnostic(buffer, code)
  return M.wait('a diagnostic ' .. code, function()
    for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
      if diagnostic.code == code then
        return diagnostic
      end
    end
  end)
end

--- The line (from 0) and the column of the first place where `text` stands.
function M.find(buffer, text)
  for line, content in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = content:find(text, 1, true)
    if column then
      return line - 1, column - 1
    end
  end
  error(('no `%s` in the buffer'):format(text))
end

--- Puts the cursor on the first place where `text` stands, as a person would.
function M.go_to(buffer, text)
  local line, column = M.find(buffer, text)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(buffer))
  vim.api.nvim_win_set_cursor(0, { line + 1, column })
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = buffer })
end

function M.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

--- The text of the floating window, once there is one.
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
