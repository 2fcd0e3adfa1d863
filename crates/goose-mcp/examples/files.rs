//! The extension of the README.

use goose_extension::prelude::*;
use goose_mcp_bridge::serve;

struct Files {
    root: std::path::PathBuf,
}

#[extension(name = "files", description = "Reads files below a folder")]
impl Files {
    /// Reads a text file.
    #[tool(group = "read", read_only, timeout = "10s")]
    async fn read_file(
        &self,
        /// Path of the file, relative to the folder
        path: String,
    ) -> ToolResult<Value> {
        let path = self.root.join(path).canonicalize()?;
        if !path.starts_with(&self.root) {
            return Err(ToolError::execution("The file is not below the folder."));
        }
        let content = tokio::fs::read_to_string(path).await?;
        Ok(json!({ "content": content }))
    }
}

#[tokio::main]
async fn main() -> AnyhowResult<()> {
    serve(Files { root: std::env::current_dir()?.canonicalize()? }).stdio().await
}
