-- Sets up a buffer when the server attaches to it: the commands, and highlighting of corresponding lines.

local M = {}

---@param client vim.lsp.Client
---@param buffer integer
function M.attach(client, buffer)
  local function command(name, handler, options)
    vim.api.nvim_buf_create_user_command(buffer, name, handler, options)
  end

  command('AgConverted', function(call)
    local view = call.args ~= '' and call.args or nil
    require('ag_lsp.converted').open_here(client, buffer, view)
  end, {
    desc = 'Show the converted code of the function under the cursor',
    nargs = '?',
    complete = function()
      return { 'simplified', 'full' }
    end,
  })
  command('AgExplain', function()
    require('ag_lsp.pages').explain_here(client, buffer)
  end, { desc = 'Explain why the function under the cursor is staged' })
  command('AgGraph', function(call)
    require('ag_lsp.programs').graph_here(client, buffer, call.args ~= '' and call.args or nil)
  end, { desc = 'Show the graph of the function under the cursor', nargs = '*' })
  command('AgRun', function(call)
    require('ag_lsp.programs').run(client, buffer, call.fargs)
  end, { desc = 'Run this program in a terminal', nargs = '*', complete = 'file' })
  command('AgStatus', function()
    require('ag_lsp.pages').status(client)
  end, { desc = "Show the server's version, settings and timings" })

  vim.api.nvim_create_autocmd('CursorMoved', {
    group = vim.api.nvim_create_augroup('ag_lsp_matching_' .. buffer, {}),
    buffer = buffer,
    callback = function()
      require('ag_lsp.converted').highlight(buffer)
    end,
  })
end

return M
