-- Finds the lines of one side of a source map that correspond to a line of the other side.

local M = {}

---@alias ag_lsp.Side 'generated'|'original'

---@class ag_lsp.Mapping
---@field generated lsp.Range
---@field original lsp.Range
---@field kind 'verbatim'|'moved'|'synthesized'

--- The first and the last line of a range, 0-based.
---@param range lsp.Range
local function lines(range)
  local first, last = range.start.line, range['end'].line
  -- A range that ends at column 0 does not include that line.
  if range['end'].character == 0 and last > first then
    last = last - 1
  end
  return first, last
end

--- The 0-based lines that correspond to `line` of `side`, in ascending order.
---
--- Mappings nest (an `if` and the statements in it). The smallest mappings that contain `line` determine the result.
---@param map ag_lsp.Mapping[]
---@param side ag_lsp.Side
---@param line integer
---@return integer[]
function M.lines(map, side, line)
  local other = side == 'generated' and 'original' or 'generated'
  local least, found = math.huge, {}
  for _, mapping in ipairs(map) do
    local first, last = lines(mapping[side])
    if first <= line and line <= last and last - first <= least then
      if last - first < least then
        least, found = last - first, {}
      end
      local from, to = lines(mapping[other])
      for at = from, to do
        found[at] = true
      end
    end
  end
  local sorted = vim.tbl_keys(found)
  table.sort(sorted)
  return sorted
end

return M
