//! Merges the dispatches of many casts. Each cast is done once, where it was planned, and no two casts of a dispatch
//! write to one word.

use std::collections::HashSet;
use zerocopy::FromBytes;

use super::*;

/// What a dispatch does: its kernel, the bits where it starts on each side, and its parameters of length.
fn work(
    kind: KernelKind,
    source: ByteRange,
    destination: ByteRange,
    params: &Params,
) -> (KernelKind, [u64; 2], [u32; 2]) {
    let at = |range: ByteRange, word: u32, bit: u32| range.offset * 8 + u64::from(word) * 32 + u64::from(bit);
    let starts = [
        at(source, params.source_word, params.source_bit),
        at(destination, params.destination_word, params.destination_bit),
    ];
    (kind, starts, [params.count, params.destination_end])
}

fn check(conversion: &Conversion, planned: &[(usize, bool, Dispatch)], settings: &PlanSettings) {
    let context = || format!("{} to {}", conversion.from, conversion.to);
    let mut left: Vec<_> =
        planned.iter().map(|(buffers, _, d)| (*buffers, work(d.kind, d.source, d.destination, &d.params))).collect();
    let mut done = |buffers, work| {
        let index = left.iter().position(|known| *known == (buffers, work)).unwrap_or_else(|| panic!("{}", context()));
        left.swap_remove(index);
    };
    for merge in merge(conversion, planned.iter().cloned(), settings) {
        let group = match &merge {
            Merge::Single(buffers, d) => {
                done(*buffers, work(d.kind, d.source, d.destination, &d.params));
                continue;
            }
            Merge::Merged(group) => group,
        };
        let (source, destination) = (group.source, group.destination);
        assert!(group.dispatches.len() > 1, "{}", context());
        assert!(source.size.max(destination.size) <= settings.limits.binding_size, "{}", context());
        assert!(group.workgroups <= settings.limits.workgroups, "{}", context());
        assert!(group.access != Access::Writable || !source.overlaps(destination), "{}", context());
        for range in [source, destination] {
            assert!(range.offset.is_multiple_of(settings.limits.offset_alignment.max(16)), "{}", context());
        }
        let (bytes, [parameters, casts]) = group.table(settings.limits.offset_alignment);
        let part = |range: ByteRange| &bytes[range.offset as usize..][..range.size as usize];
        let parameters: Vec<Params> =
            part(parameters).chunks_exact(40).map(|bytes| Params::read_from_bytes(bytes).unwrap()).collect();
        let casts: Vec<u32> = part(casts).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(casts.len(), group.workgroups as usize, "{}", context());
        for (cast, (params, dispatch)) in parameters.iter().zip(&group.dispatches).enumerate() {
            done(merge.buffers(), work(group.kind, source, destination, params));
            let numbers = (0..group.workgroups).filter(|&n| casts[n as usize] == cast as u32);
            let own: Vec<_> = numbers.map(|n| n - params.pitch).collect();
            assert!(own.iter().copied().eq(0..dispatch.workgroups[0]), "{}", context());
            let last = (dispatch.source.offset - source.offset) / 4 + u64::from(dispatch.params.source_last);
            assert_eq!(u64::from(params.source_last), last, "{}", context());
        }
        let mut words = HashSet::new();
        for params in parameters.iter().filter(|params| group.kind == KernelKind::Edge && params.destination_end != 0) {
            let first = params.destination_word + params.destination_bit / 32;
            let last = params.destination_word + (params.destination_end - 1) / 32;
            assert!((first..=last).all(|word| words.insert(word)), "{}: a word of two casts", context());
        }
    }
    assert!(left.is_empty(), "{}: {left:?}", context());
}

#[test]
fn merged_dispatches_do_what_each_was_planned_for() {
    let small = PlanLimits { binding_size: 4 << 10, offset_alignment: 32, workgroups: 5, ..PlanLimits::default() };
    let tuning = PlanTuning { blocks_from: Some(0), ..PlanTuning::default() };
    let watchdog = PlanTuning { dispatch_elements: 700, ..tuning };
    let all = [PlanSettings { tuning, ..PlanSettings::default() }, PlanSettings { limits: small, tuning: watchdog }];
    let lens = [1, 3, 64, 5, 129, 2, 2, 300, 1, 16, 700, 9, 33, 1, 1, 4, 250, 90];
    for conversion in conversions() {
        let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        for settings in all {
            for one_buffer in [false, true] {
                let total: u64 = lens.iter().sum();
                // The destinations are as close to each other as elements can be.
                let base = if one_buffer { (total * bits[0]).next_multiple_of(64) } else { 64 };
                let (mut start, mut planned) = (0, Vec::new());
                for (index, &len) in lens.iter().enumerate() {
                    let (source, destination) = (start * bits[0], base + start * bits[1]);
                    let offsets = Offsets { source, destination, one_buffer, writable: false, keeps_rest: true };
                    let dispatches = plan_apart(&conversion, len, offsets, &settings).unwrap();
                    // Casts 8 and 9 lie between other buffers.
                    let buffers = usize::from(index / 2 == 4);
                    planned.extend(dispatches.into_iter().map(|dispatch| (buffers, index == 3, dispatch)));
                    start += len;
                }
                check(&conversion, &planned, &settings);
            }
        }
    }
}

/// The casts of each dispatch, by their index.
fn groups(conversion: &Conversion, planned: &[(usize, bool, Dispatch)], settings: &PlanSettings) -> Vec<Vec<u64>> {
    let merges = merge(conversion, planned.iter().cloned(), settings);
    let of_merge = |merge: &Merge| match merge {
        Merge::Single(_, dispatch) => vec![dispatch.first],
        Merge::Merged(group) => group.dispatches.iter().map(|dispatch| dispatch.first).collect(),
    };
    merges.iter().map(of_merge).collect()
}

#[test]
fn casts_are_merged_up_to_the_limits() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    // `step` elements apart, and numbered in `first`.
    let casts = |len: u64, step: u64, settings: &PlanSettings| -> Vec<_> {
        let cast = |index: u64| {
            let mut offsets = Offsets::two_buffers(4 * index * step, 2 * index * step);
            offsets.keeps_rest = true;
            let mut dispatches = plan_apart(&conversion, len, offsets, settings).unwrap();
            assert_eq!(dispatches.len(), 1);
            (0, false, Dispatch { first: index, ..dispatches.remove(0) })
        };
        (0..5).map(cast).collect()
    };
    let with = |limits, tuning| PlanSettings { limits, tuning };
    let (limits, tuning) = (PlanLimits::default(), PlanTuning::default());
    let all = vec![vec![0, 1, 2, 3, 4]];
    // The kernel for single elements, and the one for whole units.
    for len in [8, 1024] {
        let settings = with(limits, tuning);
        let mut planned = casts(len, 2048, &settings);
        assert_eq!(groups(&conversion, &planned, &settings), all, "{len}");
        let most = with(limits, PlanTuning { dispatch_elements: 3 * len, ..tuning });
        assert_eq!(groups(&conversion, &planned, &most), [vec![0, 1, 2], vec![3, 4]], "{len}");
        let few = with(PlanLimits { workgroups: 3 * planned[0].2.workgroups[0], ..limits }, tuning);
        assert_eq!(groups(&conversion, &planned, &few), [vec![0, 1, 2], vec![3, 4]], "{len}");
        // A binding that just holds the source, the larger side, of three casts.
        let range = planned[2].2.source;
        let small = with(PlanLimits { binding_size: range.offset + range.size, ..limits }, tuning);
        assert_eq!(groups(&conversion, &planned, &small), [vec![0, 1, 2], vec![3, 4]], "{len}");
        planned[2].1 = true;
        assert_eq!(groups(&conversion, &planned, &settings), [vec![0, 1, 3, 4], vec![2]], "{len}");
        planned[1].0 = 7;
        assert_eq!(groups(&conversion, &planned, &settings), [vec![0, 3, 4], vec![1], vec![2]], "{len}");
    }
    // Writable bindings are not merged where they would overlap.
    let settings = with(limits, tuning);
    let mut planned = casts(8, 2048, &settings);
    planned.iter_mut().for_each(|(_, _, dispatch)| dispatch.access = Access::Writable);
    // Destination `i` is where source `i / 2` is, so that only 2 and 3 lie apart.
    assert_eq!(groups(&conversion, &planned, &settings), [vec![0], vec![1], vec![2, 3], vec![4]]);
    planned.iter_mut().for_each(|(_, _, dispatch)| dispatch.destination.offset += 1 << 20);
    assert_eq!(groups(&conversion, &planned, &settings), all);
    // More workgroups than one dimension has.
    let wide = with(PlanLimits { workgroups: 5, ..limits }, PlanTuning { blocks_from: Some(u64::MAX), ..tuning });
    let planned = casts(1000, 2048, &wide);
    assert!(planned[0].2.workgroups[1] > 1);
    assert_eq!(groups(&conversion, &planned, &wide), [[0], [1], [2], [3], [4]]);
    // Neighbours share a word where one ends in its lower half.
    assert_eq!(groups(&conversion, &casts(3, 3, &settings), &settings), [vec![0, 2, 4], vec![1, 3]]);
    assert_eq!(groups(&conversion, &casts(4, 4, &settings), &settings), all);
}
