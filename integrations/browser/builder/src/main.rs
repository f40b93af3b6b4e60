//! Writes the JavaScript and the types of a module that cargo has built. Arguments: the module and the folder.

use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("the module and the folder are missing".into());
    };
    // With the path of the module in the JavaScript, `init()` needs no argument.
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).web(true)?.typescript(true).omit_default_module_path(false);
    bindgen.generate(folder)?;
    Ok(())
}
