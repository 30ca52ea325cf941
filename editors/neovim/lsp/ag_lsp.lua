-- The client configuration for `vim.lsp.enable('ag_lsp')`. It is loaded when the first Python file is opened.

---@type vim.lsp.Config
return {
  cmd = { 'ag-lsp', 'server' },
  filetypes = { 'python' },
  root_markers = { 'ag-lsp.toml', 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' },
  settings = { ['ag-lsp'] = vim.empty_dict() },
  commands = {
    ['ag-lsp.showConvertedCode'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      require('ag_lsp.converted').open(client, command.arguments[1])
    end,
    ['ag-lsp.explainStaging'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      require('ag_lsp.pages').explain(client, command.arguments[1])
    end,
    ['ag-lsp.run'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      require('ag_lsp.programs').run(client, vim.uri_to_bufnr(command.arguments[1].uri))
    end,
    ['ag-lsp.showGraph'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      require('ag_lsp.programs').graph(client, command.arguments[1])
    end,
    ['ag-lsp.status'] = function(_, context)
      require('ag_lsp.pages').status(assert(vim.lsp.get_client_by_id(context.client_id)))
    end,
  },
  handlers = {
    ['ag-lsp/convertedDocumentChanged'] = function(_, params, context)
      local client = vim.lsp.get_client_by_id(context.client_id)
      if client then
        require('ag_lsp.converted').refresh(client, params.uri)
      end
    end,
  },
}
