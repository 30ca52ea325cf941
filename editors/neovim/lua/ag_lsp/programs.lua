-- Commands that execute code: run the program in a terminal, or show the graph of a function in the browser. They run
-- the saved file, and only on the user's command.

local M = {}

--- Whether a buffer has no unsaved changes. Warns the user otherwise.
---@param buffer integer
local function is_saved(buffer)
  if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].modified then
    vim.notify('ag-lsp: save the file first; the file on disk is run', vim.log.levels.WARN)
    return false
  end
  return true
end

--- Runs the program of a buffer in a terminal below.
---@param client vim.lsp.Client
---@param buffer integer
---@param arguments? string[]
function M.run(client, buffer, arguments)
  if not is_saved(buffer) then
    return
  end
  local file = vim.uri_to_fname(vim.uri_from_bufnr(buffer))
  local binary = type(client.config.cmd) == 'table' and client.config.cmd[1] or 'ag-lsp'
  -- An argument list, without a shell: paths need no quoting.
  local command = { binary, 'run', '--', file }
  vim.list_extend(command, arguments or {})
  vim.cmd('botright new')
  vim.fn.jobstart(command, { term = true, cwd = client.root_dir or vim.fs.dirname(file) })
end

---@param client vim.lsp.Client
---@param buffer integer
---@param target { uri: string, ['function']: string, inputs: string }
local function show(client, buffer, target)
  local params = { command = 'ag-lsp.showGraph', arguments = { target } }
  -- The server opens the page, or reports why there is no graph.
  client:request('workspace/executeCommand', params, function(failure)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    end
  end, buffer)
end

---@param client vim.lsp.Client
---@param buffer integer
---@param selector table the function, by name or by position
---@param inputs? string the default is to prompt for them
local function request_and_show(client, buffer, selector, inputs)
  if not is_saved(buffer) then
    return
  end
  local uri = vim.uri_from_bufnr(buffer)
  local params = vim.tbl_extend('force', { textDocument = { uri = uri } }, selector)
  client:request('ag-lsp/graphInputs', params, function(failure, response)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    elseif not response or response == vim.NIL then
      local message = 'ag-lsp: no function with `@ag.function` or `@ag.convert` at the cursor'
      vim.notify(message, vim.log.levels.INFO)
    elseif inputs then
      show(client, buffer, { uri = uri, ['function'] = response['function'], inputs = inputs })
    else
      local prompt = ('Inputs of %s: '):format(response['function'])
      vim.ui.input({ prompt = prompt, default = response.inputs }, function(input)
        if input then
          show(client, buffer, { uri = uri, ['function'] = response['function'], inputs = input })
        end
      end)
    end
  end, buffer)
end

--- Shows the graph of the function under the cursor.
---@param client vim.lsp.Client
---@param buffer integer
---@param inputs? string
function M.graph_here(client, buffer, inputs)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  request_and_show(client, buffer, { position = params.position }, inputs)
end

--- Shows the graph for a lens or code action.
---@param client vim.lsp.Client
---@param target { uri: string, ['function']: string }
function M.graph(client, target)
  request_and_show(client, vim.uri_to_bufnr(target.uri), { ['function'] = target['function'] })
end

return M
