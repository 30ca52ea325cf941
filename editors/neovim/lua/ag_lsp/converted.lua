-- Buffers with converted code: shown beside their source, updated with it, and with corresponding lines highlighted.

local matching = require('ag_lsp.matching')

local M = {}

---@class ag_lsp.Converted The server's response
---@field uri string
---@field text string
---@field view 'simplified'|'full'
---@field function? string
---@field map ag_lsp.Mapping[]

---@class ag_lsp.OpenDocument State of an open converted buffer
---@field source integer the buffer of the source
---@field target { function?: string, view: string }
---@field map ag_lsp.Mapping[]
---@field last_request integer only the response to the last request is used

---@type table<integer, ag_lsp.OpenDocument>
local open = {}

local METHOD = 'ag-lsp/convertedDocument'
local marks = vim.api.nvim_create_namespace('ag_lsp_matching')

--- Maps JSON's `null` to `nil`.
local function non_null(value)
  if value ~= vim.NIL then
    return value
  end
end

---@param buffer integer
---@param text string
local function write(buffer, text)
  local lines = vim.split(text, '\n')
  if lines[#lines] == '' then
    table.remove(lines)
  end
  if vim.deep_equal(lines, vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) then
    return
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

---@param buffer integer
---@param lines integer[]
local function mark(buffer, lines)
  vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
  local count = vim.api.nvim_buf_line_count(buffer)
  for _, line in ipairs(lines) do
    if line < count then
      vim.api.nvim_buf_set_extmark(buffer, marks, line, 0, { line_hl_group = 'AgMatchingLine' })
    end
  end
end

--- Highlights the cursor line of `buffer` (source or converted code) and the corresponding lines of the other buffer.
---@param buffer integer
function M.highlight(buffer)
  if vim.api.nvim_get_current_buf() ~= buffer then
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  for converted, state in pairs(open) do
    if buffer == converted or buffer == state.source then
      local is_converted = buffer == converted
      local found = matching.lines(state.map, is_converted and 'generated' or 'original', line)
      mark(is_converted and state.source or converted, found)
      mark(buffer, #found > 0 and { line } or {})
      -- Scroll the converted code with the source, but never move the cursor in the source.
      local window = vim.fn.bufwinid(converted)
      if not is_converted and window ~= -1 and found[1] and found[1] < vim.api.nvim_buf_line_count(converted) then
        vim.api.nvim_win_set_cursor(window, { found[1] + 1, 0 })
      end
    end
  end
end

--- Creates a buffer for the response and attaches the client, so that `gd` and the outline work in it.
---@param client vim.lsp.Client
---@param source integer
---@param response ag_lsp.Converted
---@return integer
local function create_buffer(client, source, response)
  local buffer = vim.fn.bufadd(response.uri)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].undolevels = -1
  open[buffer] = {
    source = source,
    target = { ['function'] = non_null(response['function']), view = response.view },
    map = response.map,
    last_request = 0,
  }
  write(buffer, response.text)
  vim.bo[buffer].filetype = 'python'
  vim.lsp.buf_attach_client(buffer, client.id)
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    callback = function()
      open[buffer] = nil
      mark(source, {})
    end,
  })
  return buffer
end

--- Shows `buffer` in its window or in a new one, without moving the cursor.
---@param buffer integer
local function show(buffer)
  if vim.fn.bufwinid(buffer) == -1 then
    vim.api.nvim_open_win(buffer, false, { split = 'right', win = 0 })
  end
end

---@param client vim.lsp.Client
---@param source integer
---@param params table
local function request_and_show(client, source, params)
  client:request(METHOD, params, function(failure, response)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    elseif not non_null(response) then
      vim.notify('ag-lsp: no function at the cursor can be converted', vim.log.levels.INFO)
    else
      show(create_buffer(client, source, response))
      M.highlight(vim.api.nvim_get_current_buf())
    end
  end, source)
end

--- Opens the converted code of the function under the cursor. In a converted buffer, switches to the other view.
---@param client vim.lsp.Client
---@param buffer integer
---@param view? string
function M.open_here(client, buffer, view)
  local state = open[buffer]
  if state then
    local other = state.target.view == 'full' and 'simplified' or 'full'
    request_and_show(client, state.source, {
      textDocument = { uri = vim.uri_from_bufnr(state.source) },
      ['function'] = state.target['function'],
      view = view or other,
    })
  else
    local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
    request_and_show(client, buffer, vim.tbl_extend('force', params, { view = view }))
  end
end

--- Opens the target of a lens or code action.
---@param client vim.lsp.Client
---@param target { uri: string, function?: string, view?: string }
function M.open(client, target)
  local source = vim.uri_to_bufnr(target.uri)
  request_and_show(client, source, {
    textDocument = { uri = target.uri },
    ['function'] = non_null(target['function']),
    view = non_null(target.view),
  })
end

--- Updates the converted buffers of an edited source.
---@param client vim.lsp.Client
---@param uri string
function M.refresh(client, uri)
  for buffer, state in pairs(open) do
    if vim.uri_from_bufnr(state.source) == uri then
      state.last_request = state.last_request + 1
      local request = state.last_request
      local params = vim.tbl_extend('force', { textDocument = { uri = uri } }, state.target)
      client:request(METHOD, params, function(_, response)
        if non_null(response) and state.last_request == request and vim.api.nvim_buf_is_valid(buffer) then
          state.map = response.map
          write(buffer, response.text)
          M.highlight(vim.api.nvim_get_current_buf())
        end
      end, state.source)
    end
  end
end

return M
