-- What runs a program, or a part of it: the program in a terminal, the graph of a function in the browser. Only what a
-- person asks for is run, as it is on disk.

local M = {}

--- Whether a buffer is as it is on disk.
---@param buffer integer
local function is_saved(buffer)
  if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].modified then
    vim.notify('ag-lsp: save the file first; what is run is what is on disk', vim.log.levels.WARN)
    return false
  end
  return true
end

--- Runs the program of a buffer in a terminal below it.
---@param client vim.lsp.Client
---@param buffer integer
---@param arguments? string[]
function M.run(client, buffer, arguments)
  if not is_saved(buffer) then
    return
  end
  local file = vim.uri_to_fname(vim.uri_from_bufnr(buffer))
  local binary = type(client.config.cmd) == 'table' and client.config.cmd[1] or 'ag-lsp'
  -- A list of words, and no shell: a path is one word, whatever is in it.
  local words = { binary, 'run', '--', file }
  vim.list_extend(words, arguments or {})
  vim.cmd('botright new')
  vim.fn.jobstart(words, { term = true, cwd = client.root_dir or vim.fs.dirname(file) })
end

---@param client vim.lsp.Client
---@param buffer integer
---@param target { uri: string, ['function']: string, inputs: string }
local function show(client, buffer, target)
  local params = { command = 'ag-lsp.showGraph', arguments = { target } }
  -- The server says itself why there is no graph, and has the page opened where there is one.
  client:request('workspace/executeCommand', params, function(failure)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    end
  end, buffer)
end

---@param client vim.lsp.Client
---@param buffer integer
---@param which table the function by its name, or by a place in it
---@param inputs? string asked for where there are none
local function ask_and_show(client, buffer, which, inputs)
  if not is_saved(buffer) then
    return
  end
  local uri = vim.uri_from_bufnr(buffer)
  local params = vim.tbl_extend('force', { textDocument = { uri = uri } }, which)
  client:request('ag-lsp/graphInputs', params, function(failure, answer)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    elseif not answer or answer == vim.NIL then
      local message = 'ag-lsp: there is no function of the runtime here: `@ag.function`, `@ag.convert`'
      vim.notify(message, vim.log.levels.INFO)
    elseif inputs then
      show(client, buffer, { uri = uri, ['function'] = answer['function'], inputs = inputs })
    else
      local prompt = ('Inputs of %s: '):format(answer['function'])
      vim.ui.input({ prompt = prompt, default = answer.inputs }, function(given)
        if given then
          show(client, buffer, { uri = uri, ['function'] = answer['function'], inputs = given })
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
  ask_and_show(client, buffer, { position = params.position }, inputs)
end

--- Shows the graph that a lens or a code action names.
---@param client vim.lsp.Client
---@param target { uri: string, ['function']: string }
function M.graph(client, target)
  ask_and_show(client, vim.uri_to_bufnr(target.uri), { ['function'] = target['function'] })
end

return M
