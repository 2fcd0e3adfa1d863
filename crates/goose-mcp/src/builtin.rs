//! The list of built-ins: the one door through which programs get them by name.

use std::sync::Arc;

use goose_extension::{Builtin, BuiltinOptions, Extension};

use crate::{
    autovisualiser::Autovisualiser, computercontroller::ComputerController, developer::Developer,
    memory::Memory, tutorial::Tutorial,
};

/// All built-ins, by name.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "developer", summary: "files, commands and a plan, for work on code", build: developer },
    Builtin { name: "memory", summary: "facts and preferences across conversations", build: memory },
    Builtin {
        name: "computercontroller",
        summary: "web pages, scripts, the screen and office documents",
        build: computercontroller,
    },
    Builtin { name: "autovisualiser", summary: "charts, maps and diagrams as pages", build: autovisualiser },
    Builtin { name: "tutorial", summary: "guided, step-by-step tutorials", build: tutorial },
];

/// The built-in of that name, where there is one.
pub fn builtin(name: &str, options: &BuiltinOptions) -> Option<Arc<dyn Extension>> {
    BUILTINS.iter().find(|builtin| builtin.name == name).map(|builtin| builtin.build(options))
}

fn autovisualiser(options: &BuiltinOptions) -> Arc<dyn Extension> {
    Arc::new(Autovisualiser::new(options))
}

fn developer(options: &BuiltinOptions) -> Arc<dyn Extension> {
    Arc::new(Developer::new(options))
}

fn memory(options: &BuiltinOptions) -> Arc<dyn Extension> {
    let memory = Memory::new(options.config_dir.join("memory"));
    Arc::new(match &options.working_dir {
        Some(dir) => memory.with_project(dir.clone()),
        None => memory,
    })
}

fn computercontroller(options: &BuiltinOptions) -> Arc<dyn Extension> {
    Arc::new(ComputerController::new(options))
}

fn tutorial(_options: &BuiltinOptions) -> Arc<dyn Extension> {
    Arc::new(Tutorial::new())
}
