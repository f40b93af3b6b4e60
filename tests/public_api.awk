# Makes of the listing of cargo-public-api one line for all traits of a type that can be derived.

function flush() { if (traits != "") print "impl " traits " for " type; traits = ""; type = "" }

match($0, /^impl(<[^>]*>)? core::[a-z:]*::(Clone|Copy|Debug|Default|Eq|Hash|Ord|PartialEq|PartialOrd|StructuralPartialEq) for /) {
    of = substr($0, RLENGTH + 1)
    name = substr($0, 1, RLENGTH - 5)
    sub(/.*::/, "", name)
    if (of != type) flush()
    type = of
    # It marks a derived PartialEq only.
    if (name != "StructuralPartialEq") traits = traits (traits == "" ? "" : ", ") name
    derived = 1
    next
}
# The methods of these traits.
derived && /^pub fn .*::(clone|cmp|default|eq|fmt|hash|partial_cmp)(<.*>)?\(/ { next }
{ derived = 0; flush(); print }
END { flush() }
