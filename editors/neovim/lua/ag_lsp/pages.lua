-- Shows Markdown pages from the server in a floating window.

local M = {}

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param empty_message string shown when there is no page
local function show(client, method, params, empty_message)
  client:request(method, params, function(failure, response)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    elseif not response or response == vim.NIL then
      vim.notify('ag-lsp: ' .. empty_message, vim.log.levels.INFO)
    else
      local lines = vim.split(response.markdown, '\n', { trimempty = true })
      vim.lsp.util.open_floating_preview(lines, 'markdown', { focus_id = method, border = 'rounded' })
    end
  end, 0)
end

---@param client vim.lsp.Client
---@param target { uri: string, position: lsp.Position }
function M.explain(client, target)
  local params = { textDocument = { uri = target.uri }, position = target.position }
  show(client, 'ag-lsp/explainStaging', params, 'no staged function at the cursor')
end

---@param client vim.lsp.Client
---@param buffer integer
function M.explain_here(client, buffer)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  M.explain(client, { uri = vim.uri_from_bufnr(buffer), position = params.position })
end

---@param client vim.lsp.Client
function M.status(client)
  show(client, 'ag-lsp/status', vim.empty_dict(), 'the server returned no status')
end

return M
