-- Checks whether the program that `vim.lsp.config` names exists, and advises how to install it.

local M = {}

M.advice = {
  'Install it, in a checkout of ag-lsp: `cargo install --locked --path server`, or `pip install .`',
  "or name it: `vim.lsp.config('ag_lsp', { cmd = { '/path/to/ag-lsp', 'server' } })`",
}

--- The program, if the configuration names one.
---@return string?
function M.configured()
  local config = vim.lsp.config.ag_lsp
  local command = config and config.cmd
  return type(command) == 'table' and command[1] or nil
end

---@param command string
---@return boolean
function M.is_missing(command)
  return vim.fn.executable(command) == 0
end

--- Warns once, if the server is enabled and cannot be started.
---@return boolean done whether the check is complete
function M.warn_if_missing()
  -- Neovim 0.11 has no `is_enabled`. Without it, assume that the server is enabled.
  if vim.lsp.is_enabled and not vim.lsp.is_enabled('ag_lsp') then
    return false
  end
  local command = M.configured()
  if command and M.is_missing(command) then
    local lines = { ('ag-lsp: `%s` is not executable'):format(command) }
    vim.notify(table.concat(vim.list_extend(lines, M.advice), '\n'), vim.log.levels.WARN)
  end
  return true
end

return M
