//! `autovisualiser`: data as pages with drawings.
//!
//! ```text
//! arguments ─► a kind's `page`: checks the data, draws ─► Page ─► HTML ─► Pages ─► file, ui://autovisualiser/NAME
//! ```
//!
//! Everything is drawn here, as SVG: a page has the drawing, its data as tables, no script and no network.
//!
//! | file | |
//! | --- | --- |
//! | `sankey`, `radar`, `donut`, `treemap`, `chord`, `map`, `chart`, `mermaid` | a kind of page: its data, checks and layout |
//! | `layers`, `scale` | layout that several kinds use: graphs in layers, ranges with round steps |
//! | `drawing`, `text`, `page` | SVG, labels, the HTML around them |
//! | `fault` | problems of the data, by field |
//! | `pages` | the files, and their resources |
//! | `screenshot` | a page as an image, by a browser |

mod chart;
mod chord;
mod donut;
mod drawing;
mod fault;
mod layers;
mod map;
mod mermaid;
mod page;
mod pages;
mod radar;
mod sankey;
mod scale;
mod screenshot;
mod text;
mod treemap;

use std::sync::Arc;

use goose_extension::{ContentBlock, Resource, ResourceContents, prelude::*};

use self::{
    chart::ChartData, chord::ChordData, donut::DonutChart, fault::Checked, map::MapData, page::Page,
    pages::Pages, radar::RadarData, sankey::SankeyData, screenshot::Screenshots, treemap::TreemapNode,
};
use crate::BuiltinOptions;

pub use self::pages::page_file;

const INSTRUCTIONS: &str = "\
Draws data as a page that the user opens in a browser. Draw when the user asks for a chart, map or diagram, or when numbers are \
easier to see than to read; choose the kind that fits the data, and give it a title. Tell the user how to open the page.";

/// Maximum length of Mermaid code, in characters.
const MAX_MERMAID_CHARS: usize = 50_000;

/// The `autovisualiser` extension.
#[derive(Debug)]
pub struct Autovisualiser {
    pages: Arc<Pages>,
    screenshots: Screenshots,
}

impl Autovisualiser {
    /// Creates the extension. Pages go to a folder within the folder for long outputs; without one they are kept until it ends.
    pub fn new(options: &BuiltinOptions) -> Self {
        Self {
            pages: Arc::new(Pages::new(options.scratch_dir.as_deref())),
            screenshots: Screenshots::new(&options.environment),
        }
    }

    /// Writes a page, and returns how to open it, with a screenshot if one was asked for.
    async fn show(
        &self,
        draw: impl FnOnce() -> Checked<Page> + Send + 'static,
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let pages = Arc::clone(&self.pages);
        let written = tokio::task::spawn_blocking(move || {
            let page = draw()?;
            pages.write(page)
        });
        let written = written.await.map_err(|error| {
            ToolError::execution(format!(
                "The page could not be drawn because of a bug ({error}). Use simpler data."
            ))
        })??;
        let mut output = written.output();
        if screenshot == Some(true) {
            context.status("Taking a screenshot …");
            output.content.push(match self.screenshots.take(&written).await {
                Ok(image) => image.into(),
                Err(problem) => ContentBlock::text(format!("There is no screenshot: {problem}")),
            });
        }
        Ok(output)
    }
}

#[extension(
    name = "autovisualiser",
    description = "Draws charts, maps and diagrams as pages that work offline",
    instructions = INSTRUCTIONS
)]
impl Extension for Autovisualiser {
    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok(self.pages.list())
    }

    async fn read_resource(&self, uri: &str, _context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        let (pages, address) = (Arc::clone(&self.pages), uri.to_owned());
        let read = tokio::task::spawn_blocking(move || pages.read(&address)).await;
        let html = read.ok().flatten().ok_or_else(|| goose_extension::adapter::unknown_resource(uri))?;
        Ok(vec![ResourceContents::text(html, uri).with_mime_type(pages::MIME_TYPE)])
    }

    /// Draw a Sankey diagram: flows between named nodes, as bands from left to right. Returns where the page is. Fails if a link names
    /// no node, or if links form a cycle.
    #[tool(title = "Draw a Sankey diagram", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_sankey(
        &self,
        /// Nodes by name, and links between them
        data: SankeyData,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| sankey::page(data), screenshot, context).await
    }

    /// Draw a radar chart: a few things, compared by several values. Returns where the page is. Fails if a dataset does not have one
    /// number for each label.
    #[tool(title = "Draw a radar chart", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_radar(
        &self,
        /// Labels of the axes, and a dataset for each thing
        data: RadarData,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| radar::page(data), screenshot, context).await
    }

    /// Draw donut or pie charts: the parts of a whole. Returns where the page is. Fails if values are negative, all 0, or have no labels.
    #[tool(title = "Draw donut charts", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_donut(
        &self,
        /// A list of charts, also for a single one
        data: Vec<DonutChart>,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| donut::page(data), screenshot, context).await
    }

    /// Draw a treemap: a hierarchy whose sizes are areas. Returns where the page is. Fails if a node has neither children nor a value.
    #[tool(title = "Draw a treemap", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_treemap(
        &self,
        /// The root, with its children
        data: TreemapNode,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(move || treemap::page(&data), screenshot, context).await
    }

    /// Draw a chord diagram: flows in both directions between the parts of a circle. Returns where the page is. Fails if the matrix does
    /// not have a row and a column for each label.
    #[tool(title = "Draw a chord diagram", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_chord(
        &self,
        /// Labels, and a square matrix of flows
        data: ChordData,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| chord::page(data), screenshot, context).await
    }

    /// Draw a map of the world, or a part of it, with markers; coarse, without streets. Returns where the page is. Fails if coordinates
    /// are out of range.
    #[tool(title = "Draw a map", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_map(
        &self,
        /// Markers, and the part to show
        data: MapData,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| map::page(data), screenshot, context).await
    }

    /// Draw a line, bar or scatter chart. Returns where the page is. Fails if a dataset has more numbers than there are labels.
    #[tool(title = "Draw a chart", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn show_chart(
        &self,
        /// Kind, datasets and labels
        data: ChartData,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(|| chart::page(data), screenshot, context).await
    }

    /// Draw a Mermaid diagram: flowchart, sequenceDiagram, classDiagram or pie. Returns where the page is. Fails at other kinds, and names
    /// the line that it cannot read.
    #[tool(title = "Draw a Mermaid diagram", group = "read", read_only, open_world = false, timeout = "60s")]
    async fn render_mermaid(
        &self,
        /// Code of the diagram, without a Markdown fence
        #[arg(max_length = MAX_MERMAID_CHARS)]
        mermaid_code: String,
        /// Also returns an image, if a browser is found; default: false
        screenshot: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.show(move || mermaid::page(&mermaid_code), screenshot, context).await
    }
}
