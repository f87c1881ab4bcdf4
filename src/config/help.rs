//! The flags as clap arguments, for the help only: what they mean is read by [`super::scan`].

use clap::Arg;

use super::{
    flags::{self, Group},
    value::Kind,
};

/// Adds every flag to `command`, grouped. The short help leaves out those without effect.
pub fn grouped_flags(command: clap::Command) -> clap::Command {
    let flags = flags::all().map(|flag| {
        let help = match (flag.has_effect(), flag.default) {
            (false, _) => format!("No effect: {}", flag.help),
            (true, "") => flag.help.to_owned(),
            (true, default) => format!("{} [default: {default}]", flag.help),
        };
        let argument = Arg::new(flag.name)
            .long(flag.name)
            .value_name(flag.kind.placeholder())
            .help(help)
            .help_heading(flag.group.title())
            .hide_short_help(flag.group == Group::WithoutEffect);
        let argument = if let Some(short) = flag.short { argument.short(short) } else { argument };
        if flag.kind == Kind::Bool { argument.num_args(0..=1).require_equals(true) } else { argument }
    });
    command.args(flags)
}
