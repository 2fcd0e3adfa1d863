//! Recipes: the same files as goose 1.52 reads, with what it says about them; and files that nobody should trust.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use goose::{
    config::{Paths, TrustStore},
    project_files,
    recipe::{RecipeError, RecipeFile, RecipeOrigin, RecipePlaces, Values, deeplink},
};
use serde_json::{Value, json};

/// Files that goose 1.52 refuses, and this version accepts: it tries templates with sample values, and not with
/// undefined ones, and knows that text in a `raw` block is no expression.
const ACCEPTED_HERE: [&str; 3] = ["05-conditions.yaml", "17-special-characters.yaml", "21-types.yaml"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recipes")
}

/// Verdict of goose 1.52 on each file.
fn said_by_1_52() -> anyhow::Result<serde_json::Map<String, Value>> {
    Ok(serde_json::from_str(&fs::read_to_string(fixtures().join("goose_1_52.json"))?)?)
}

fn values(params: &Value) -> Values {
    let pairs = params.as_object().into_iter().flatten();
    let text = |key: &str, value: &Value| match key {
        "source" => fixtures().join(value.as_str().unwrap_or_default()).display().to_string(),
        _ => value.as_str().unwrap_or_default().to_owned(),
    };
    pairs.map(|(key, value)| (key.clone(), text(key, value))).collect()
}

fn yaml(text: &str) -> anyhow::Result<Value> {
    Ok(goose::config::read_yaml(Path::new("recipe"), text)?)
}

#[test]
fn files_are_valid_where_they_are_in_goose_1_52() -> anyhow::Result<()> {
    let said = said_by_1_52()?;
    ensure!(said.len() >= 20, "{}", said.len());
    for (name, said) in said {
        let checked = RecipeFile::open(&fixtures().join(&name))?.validate();
        let expected = said["valid"] == true || ACCEPTED_HERE.contains(&name.as_str());
        assert_eq!(checked.is_ok(), expected, "{name}: {checked:?}");
        if let Err(error) = checked {
            ensure!(error.to_string().contains(&name), "the error names the file: {error}");
        }
    }
    Ok(())
}

#[test]
fn recipes_are_rendered_as_by_goose_1_52() -> anyhow::Result<()> {
    for (name, said) in said_by_1_52()? {
        let Some(expected) = said["rendered"].as_str() else { continue };
        let recipe = RecipeFile::open(&fixtures().join(&name))?.render(&values(&said["params"]))?;
        let rendered = yaml(&recipe.written().to_yaml()?)?;
        let folder = fixtures().canonicalize()?.display().to_string();
        assert_eq!(rendered, yaml(&expected.replace("DIR", &folder))?, "{name}");
    }
    Ok(())
}

#[test]
fn links_are_those_of_goose_1_52() -> anyhow::Result<()> {
    for (name, said) in said_by_1_52()? {
        let Some(expected) = said["link"].as_str() else { continue };
        let definition = RecipeFile::open(&fixtures().join(&name))?.definition()?;
        assert_eq!(deeplink::link(&definition, &Values::default())?, expected, "{name}");
        let back = RecipeFile::from_link(expected)?;
        assert_eq!(back.origin(), RecipeOrigin::Link);
        assert_eq!(
            serde_json::to_value(back.definition()?.written())?,
            serde_json::to_value(definition.written())?,
            "{name}"
        );
    }
    let recipe = RecipeFile::open(&fixtures().join("01-minimal.yaml"))?.definition()?;
    let values = [("q", "a b&c=ü/+~"), ("r", "2")].into_iter().collect();
    let link = deeplink::link(&recipe, &values)?;
    ensure!(link.ends_with("&q=a%20b%26c%3D%C3%BC%2F%2B~&r=2"), "{link}");
    assert_eq!(RecipeFile::from_link(&link)?.values(), &values);
    Ok(())
}

fn render(text: &str, pairs: &[(&str, &str)]) -> Result<goose::recipe::Recipe, RecipeError> {
    RecipeFile::from_text("recipe.yaml", text).render(&pairs.iter().copied().collect())
}

const GREETING: &str = "title: T\ndescription: D\nprompt: 'Hello {{ name }}'\nactivities: [\"{{ name }}\", b]\n\
                        parameters:\n  - {key: name, input_type: string, requirement: required, description: N}\n";

#[test]
fn no_value_changes_the_structure_of_a_recipe() -> anyhow::Result<()> {
    for value in [
        "it's",
        "a\nretry: {max_retries: 1}",
        "x\", \"y",
        "{{ 7 }}",
        "# no",
        "a: b",
        "",
        "null",
        "- x",
        "\u{e000}0\u{e001}",
    ] {
        let recipe = render(GREETING, &[("name", value)])?;
        assert_eq!(recipe.prompt, Some(format!("Hello {value}")));
        assert_eq!(recipe.activities, Some(vec![value.to_owned(), "b".to_owned()]));
        assert_eq!((recipe.retry, recipe.parameters.map(|it| it.len())), (None, Some(1)), "{value}");
    }
    Ok(())
}

#[test]
fn values_are_checked_against_their_types() -> anyhow::Result<()> {
    let wrong = [
        ("number", "x", "give a number"),
        ("boolean", "yes", "give true or false"),
        ("date", "soon", "give a date"),
    ];
    for (kind, value, expected) in wrong {
        let text = GREETING.replace("string", kind);
        let error = render(&text, &[("name", value)]).err().context("it is wrong")?.to_string();
        ensure!(error.contains(expected) && error.contains("'name'"), "{error}");
    }
    let error = render(GREETING, &[]).err().context("it is missing")?.to_string();
    ensure!(error.contains("--params name=VALUE"), "{error}");
    let error = render(GREETING, &[("name", "a"), ("nmae", "b")]).err().context("it is unknown")?.to_string();
    ensure!(error.contains("no parameter 'nmae'. Parameters: name"), "{error}");
    Ok(())
}

#[test]
fn templates_that_never_end_or_grow_are_errors() -> anyhow::Result<()> {
    let growing = "{% set a = 'aaaaaaaaaa' %}".to_owned() + &"{% set a = a ~ a %}".repeat(40);
    for (template, expected) in [
        ("{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}", "steps"),
        ("{{ 'x' * 100000000 }}", "'*' is not available"),
        (growing.as_str(), "may join texts"),
        (
            "{% for a in range(20000) %}{{ 'a long text that is written again and again, for ever and ever' }}{% endfor %}",
            "bytes",
        ),
        ("{{ 'a' | indent(100000000) }}", "indentation"),
        ("{{ '%1000000000d' | format(1) }}", "format"),
        ("{% include 'x' ~ name %}", "must be written as a text"),
        ("{{ name.nothing }}", "undefined"),
        ("{% filter upper %}{{ name ~ ': y' }}{% endfilter %}", "applied to a block with values"),
    ] {
        let text = format!(
            "title: T\ndescription: D\nprompt: |\n  {{{{ name }}}}\n  {template}\nparameters:\n  - {{key: name, input_type: string, requirement: required}}\n"
        );
        let begun = Instant::now();
        let error = render(&text, &[("name", "x")]).err().with_context(|| template.to_owned())?.to_string();
        ensure!(error.contains(expected) && error.contains("recipe.yaml"), "{template}: {error}");
        ensure!(begun.elapsed().as_secs() < 30, "{template}");
    }
    Ok(())
}

/// Names that are set again and again, lists in lists, filters that quote, blocks that are kept.
#[test]
fn templates_that_would_fill_the_memory_are_errors() -> anyhow::Result<()> {
    let again = |set: &str| format!("{{% set a = ['x'] %}}{}{{{{ a | length }}}}", set.repeat(40));
    let long = "y".repeat(100_000);
    let is_refused = [
        (again("{% set a = [a, a] %}"), "may join texts"),
        (again("{% set a = {'k': a, 'l': a} %}"), "may join texts"),
        (again("{% set a = dict(k=a, l=a) %}"), "may join texts"),
        (again("{% set a = (a, a) %}"), "may join texts"),
        (again("{% set a = a | zip(a) | list %}"), "may join texts"),
        (again("{% set a = a | chain(a) | list %}"), "may join texts"),
        (again("{% set a = a | tojson %}"), "may join texts"),
        (again("{% set a = a | list | string %}"), "may join texts"),
        (format!("{{{{ 'x' {} | length }}}}", "| tojson".repeat(60)), "may join texts"),
        (format!("{{% set a %}}{{% for i in range(30000) %}}{long}{{% endfor %}}{{% endset %}}"), "steps"),
        (
            format!("{{% filter upper %}}{{% for i in range(30000) %}}{long}{{% endfor %}}{{% endfilter %}}"),
            "steps",
        ),
        (format!("{{{{ {}1 }}}}", "not ".repeat(50_000)), "beside its texts"),
        (format!("{{{{ {}1 }}}}", "1+".repeat(30_000)), "beside its texts"),
        (format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(5_000)), "'elif'"),
        ("{{ 1 }}".repeat(60_000), "steps"),
        ("{% for x in ['a'] recursive %}{{ loop([x ~ x]) }}{% endfor %}".to_owned(), "'recursive'"),
        ("{{ [1] | batch(10000000000, 'x') | length }}".to_owned(), "arguments"),
        ("{{ [1] | slice(10000000000) | length }}".to_owned(), "parts"),
        (
            "{{ range(90000) | map(attribute='x', default='long') | list | length }}".to_owned(),
            "'map' takes no",
        ),
        (
            "{% set a = range(90000) | map('string') | map('replace', '1', '1111111111111111111111111111111111111111') | list %}"
                .to_owned(),
            "bytes",
        ),
    ];
    for (template, expected) in is_refused {
        let text = json!({ "title": "T", "description": "D", "prompt": format!("x{template}") }).to_string();
        let begun = Instant::now();
        let shown: String = template.chars().take(200).collect();
        let error = render(&text, &[]).err().with_context(|| shown.clone())?.to_string();
        ensure!(error.contains(expected), "{shown}: {error}");
        ensure!(begun.elapsed().as_secs() < 30, "{shown}");
    }
    Ok(())
}

#[test]
fn a_recipe_includes_only_files_of_its_folder() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("recipes");
    fs::create_dir(&folder)?;
    fs::write(home.path().join("secret.txt"), "secret")?;
    std::os::unix::fs::symlink(home.path().join("secret.txt"), folder.join("link.txt"))?;
    fs::write(folder.join("loop.yaml"), "{% include 'main.yaml' %}")?;
    let main = folder.join("main.yaml");
    for (file, expected) in [
        ("../secret.txt", "is not in the folder"),
        ("/etc/passwd", "is not in the folder"),
        ("link.txt", "is not in the folder"),
        ("absent.txt", "there is no file"),
        ("loop.yaml", "include each other"),
    ] {
        fs::write(&main, format!("title: T\ndescription: D\nprompt: |\n  {{% include \"{file}\" %}}\n"))?;
        let error = RecipeFile::open(&main)?.render(&Values::default()).err().context(file)?.to_string();
        ensure!(error.contains(expected) && error.contains("main.yaml"), "{file}: {error}");
    }
    Ok(())
}

#[test]
fn sub_recipes_must_exist_and_not_lead_back() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let write = |name: &str, sub: &str| {
        let text =
            format!("title: T\ndescription: D\nprompt: Go\nsub_recipes: [{{name: sub, path: {sub}}}]\n");
        fs::write(home.path().join(name), text)
    };
    write("a.yaml", "b.yaml")?;
    write("b.yaml", "./a.yaml")?;
    write("c.yaml", "absent.yaml")?;
    let render = |name: &str| RecipeFile::open(&home.path().join(name))?.render(&Values::default());
    let error = render("a.yaml").err().context("a circle")?.to_string();
    ensure!(error.contains("name each other") && error.contains("a.yaml"), "{error}");
    let error = render("c.yaml").err().context("no file")?.to_string();
    ensure!(error.contains("absent.yaml") && error.contains("c.yaml"), "{error}");
    Ok(())
}

#[test]
fn large_and_broken_files_are_errors_with_their_place() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let large = home.path().join("large.yaml");
    fs::write(&large, format!("title: T\ndescription: D\nprompt: {}\n", "x".repeat(10_000_000)))?;
    let error = RecipeFile::open(&large).err().context("too large")?.to_string();
    ensure!(error.contains("is larger than"), "{error}");
    for (text, expected) in [
        ("title: T\ndescription: [\n", "recipe.yaml:"),
        ("title: T\ndescription: D\nprompt: '{% if %}'\n", "recipe.yaml:3"),
        ("title: T\ndescription: D\nprompt: x\nretry: {max_retries: many}\n", "recipe.yaml:4"),
        ("- a\n", "recipe.yaml"),
        ("", "recipe.yaml"),
    ] {
        let error = RecipeFile::from_text("recipe.yaml", text).validate().err().context(text)?.to_string();
        ensure!(error.contains(expected), "{text}: {error}");
    }
    Ok(())
}

#[test]
fn names_are_searched_in_the_users_folders_and_in_a_trusted_project() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let paths = Paths::under(home.path().join("goose"));
    let project = home.path().join("project");
    for (path, title) in [
        (paths.config.join("recipes/both.yaml"), "user"),
        (project.join(".goose/recipes/both.yaml"), "project"),
        (project.join(".goose/recipes/build.json"), "project"),
        (project.join("here.yml"), "folder"),
        (home.path().join("more/listed.yaml"), "listed"),
    ] {
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(path, format!("{{\"title\": \"{title}\", \"description\": \"D\", \"prompt\": \"Go\"}}"))?;
    }
    let places = RecipePlaces::with_folders(&paths, &project, None, vec![home.path().join("more")]);
    let title = |name: &str| anyhow::Ok(places.find(name)?.definition()?.title);
    assert_eq!(
        (title("both")?, title("listed")?, title("here")?),
        ("user".into(), "listed".into(), "folder".into())
    );
    assert_eq!(title("here.yml")?, "folder");
    ensure!(matches!(places.find("build"), Err(RecipeError::Untrusted(_))));
    let error = places.find("absent").err().context("none")?.to_string();
    ensure!(error.contains("there is no recipe 'absent'") && error.contains("more"), "{error}");
    for (_, file) in project_files::find(&project)? {
        TrustStore::new(&paths).trust(&file)?;
    }
    assert_eq!((title("build")?, places.find("build")?.origin()), ("project".into(), RecipeOrigin::Project));
    let names: Vec<String> = places.list().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["listed", "both", "build", "here"]);
    Ok(())
}
