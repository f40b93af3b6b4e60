// params_counted.wgsl — the parameters of a cast whose number of elements is in a buffer
// reads: SRC_BITS DST_BITS
//:use entry/params

struct CountedParams {
    // The parameters for the most elements that the cast may have.
    most: Params,
    // The index of the dispatch's first element in the cast.
    @align(16) first: u32,
    // The number of elements for which each of params.count stands.
    unit: u32,
    // Not 0 if the dispatch casts the elements that another one leaves after its last whole unit: fewer than a unit.
    rest: u32,
    // The word of the number of elements in its binding.
    count_word: u32,
}

@group(0) @binding(4) var<uniform> counted: CountedParams;

var<private> params: Params;

// The number of this workgroup. Entry points call this before they read a parameter.
fn workgroup_number(group: vec3<u32>) -> u32 {
    params = counted.most;
    let elements = load_count(counted.count_word);
    let left = elements - min(elements, counted.first);
    let units = min(left / counted.unit, params.count);
    params.count = units;
    if (counted.rest != 0u) {
        let before = units * counted.unit;
        params.count = select(0u, left - before, units < counted.most.count);
        // 32 elements of any width are whole words.
        let words = before >> 5u;
        let source_bit = params.source_bit + (before & 31u) * SRC_BITS;
        params.source_word = params.source_word + words * SRC_BITS + (source_bit >> 5u);
        params.source_bit = source_bit & 31u;
        let destination_bit = params.destination_bit + (before & 31u) * DST_BITS;
        params.destination_word = params.destination_word + words * DST_BITS + (destination_bit >> 5u);
        params.destination_bit = destination_bit & 31u;
    }
    params.destination_end = select(0u, params.destination_bit + params.count * DST_BITS, params.count != 0u);
    return group.y * params.pitch + group.x;
}
