-- Buffers with converted code: they stand beside their source, follow its edits, and light up together with it.

local matching = require('ag_lsp.matching')

local M = {}

---@class ag_lsp.Converted The server's answer
---@field uri string
---@field text string
---@field view 'simplified'|'full'
---@field function? string
---@field map ag_lsp.Mapping[]

---@class ag_lsp.Open What is known of an open converted buffer
---@field source integer the buffer of the source
---@field target { function?: string, view: string }
---@field map ag_lsp.Mapping[]
---@field asked integer how often the server was asked: only the answer to the last question counts

---@type table<integer, ag_lsp.Open>
local open = {}

local METHOD = 'ag-lsp/convertedDocument'
local marks = vim.api.nvim_create_namespace('ag_lsp_matching')

--- The value of a field that JSON may have said `null` for.
local function given(value)
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

--- Lights up the line of the cursor and what belongs to it on the other side; `buffer` is either side.
---@param buffer integer
function M.light(buffer)
  if vim.api.nvim_get_current_buf() ~= buffer then
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  for converted, known in pairs(open) do
    if buffer == converted or buffer == known.source then
      local here = buffer == converted
      local found = matching.lines(known.map, here and 'generated' or 'original', line)
      mark(here and known.source or converted, found)
      mark(buffer, #found > 0 and { line } or {})
      -- The converted code scrolls along; a cursor in the source stays where its owner left it.
      local window = vim.fn.bufwinid(converted)
      if not here and window ~= -1 and found[1] and found[1] < vim.api.nvim_buf_line_count(converted) then
        vim.api.nvim_win_set_cursor(window, { found[1] + 1, 0 })
      end
    end
  end
end

--- A buffer for the answer, which `gd` and the outline of the server work in too.
---@param client vim.lsp.Client
---@param source integer
---@param answer ag_lsp.Converted
---@return integer
local function present(client, source, answer)
  local buffer = vim.fn.bufadd(answer.uri)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].undolevels = -1
  open[buffer] = {
    source = source,
    target = { ['function'] = given(answer['function']), view = answer.view },
    map = answer.map,
    asked = 0,
  }
  write(buffer, answer.text)
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

--- Shows `buffer` in its window, or in a new one beside this one; the cursor stays where it is.
---@param buffer integer
local function show(buffer)
  if vim.fn.bufwinid(buffer) == -1 then
    vim.api.nvim_open_win(buffer, false, { split = 'right', win = 0 })
  end
end

---@param client vim.lsp.Client
---@param source integer
---@param params table
local function ask_and_show(client, source, params)
  client:request(METHOD, params, function(failure, answer)
    if failure then
      vim.notify('ag-lsp: ' .. failure.message, vim.log.levels.ERROR)
    elseif not given(answer) then
      vim.notify('ag-lsp: there is no function here that can be converted', vim.log.levels.INFO)
    else
      show(present(client, source, answer))
      M.light(vim.api.nvim_get_current_buf())
    end
  end, source)
end

--- Opens the converted code of the function under the cursor. In a converted buffer: the other view of it.
---@param client vim.lsp.Client
---@param buffer integer
---@param view? string
function M.open_here(client, buffer, view)
  local known = open[buffer]
  if known then
    local other = known.target.view == 'full' and 'simplified' or 'full'
    ask_and_show(client, known.source, {
      textDocument = { uri = vim.uri_from_bufnr(known.source) },
      ['function'] = known.target['function'],
      view = view or other,
    })
  else
    local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
    ask_and_show(client, buffer, vim.tbl_extend('force', params, { view = view }))
  end
end

--- Opens what a lens or a code action names.
---@param client vim.lsp.Client
---@param target { uri: string, function?: string, view?: string }
function M.open(client, target)
  local source = vim.uri_to_bufnr(target.uri)
  ask_and_show(client, source, {
    textDocument = { uri = target.uri },
    ['function'] = given(target['function']),
    view = given(target.view),
  })
end

--- Renews the converted buffers of a source that was edited.
---@param client vim.lsp.Client
---@param uri string
function M.follow(client, uri)
  for buffer, known in pairs(open) do
    if vim.uri_from_bufnr(known.source) == uri then
      known.asked = known.asked + 1
      local question = known.asked
      local params = vim.tbl_extend('force', { textDocument = { uri = uri } }, known.target)
      client:request(METHOD, params, function(_, answer)
        if given(answer) and known.asked == question and vim.api.nvim_buf_is_valid(buffer) then
          known.map = answer.map
          write(buffer, answer.text)
          M.light(vim.api.nvim_get_current_buf())
        end
      end, known.source)
    end
  end
end

return M
