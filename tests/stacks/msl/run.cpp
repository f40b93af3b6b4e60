// Runs the kernels of one source type lane by lane, and compares the buffers with those of the CPU path. Stands behind
// metal.h and the kernels in one file.

bool metal::is_first_pass = false;

static void dispatch(const Kernel& entry, const uint* workgroups, uint8_t** buffers) {
    for (uint z = 0; z < workgroups[2]; ++z)
        for (uint y = 0; y < workgroups[1]; ++y)
            for (uint x = 0; x < workgroups[0]; ++x)
                // The first pass ends at the barrier, so that the memory of the workgroup is written. A kernel without
                // a barrier may not run twice, since it may cast in place.
                for (int pass = entry.has_barrier ? 0 : 1; pass < 2; ++pass) {
                    metal::is_first_pass = pass == 0;
                    for (uint lane = 0; lane < entry.threads; ++lane) {
                        try {
                            entry.call(metal::uint3(x, y, z), lane, buffers);
                        } catch (metal::Barrier) {
                        }
                    }
                }
}

int main(int, char** arguments) {
    std::string path = arguments[1];
    std::ifstream plans(path + ".txt"), file(path + ".bin", std::ios::binary);
    std::vector<uint8_t> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::string name;
    size_t start, expected, buffers, count, casts = 0, differ = 0;
    while (plans >> name >> start >> expected >> buffers) {
        std::vector<std::vector<uint8_t>> memory;
        for (size_t i = 0; i < buffers; ++i) {
            size_t size;
            plans >> size;
            memory.emplace_back(data.begin() + start, data.begin() + start + size);
            start += size;
        }
        plans >> count;
        for (size_t i = 0; i < count; ++i) {
            size_t number, parameters, bindings, binding, buffer, offset;
            uint workgroups[3];
            plans >> number >> workgroups[0] >> workgroups[1] >> workgroups[2] >> parameters;
            std::vector<uint8_t> block(parameters);
            for (auto& byte : block) {
                unsigned value;
                plans >> value;
                byte = value;
            }
            // The sizes of buffers, which kernels do not use.
            uint sizes[8] = {};
            uint8_t* bound[8] = {};
            bound[4] = block.data();
            bound[5] = (uint8_t*)sizes;
            plans >> bindings;
            for (size_t j = 0; j < bindings; ++j) {
                plans >> binding >> buffer >> offset;
                bound[binding] = memory[buffer].data() + offset;
            }
            dispatch(KERNELS[number], workgroups, bound);
        }
        const auto& last = memory.back();
        casts += 1;
        if (std::memcmp(last.data(), data.data() + expected, last.size()) != 0) {
            size_t at = 0;
            while (last[at] == data[expected + at]) ++at;
            std::printf("%s: byte %zu is %02x, expected %02x\n", name.c_str(), at, last[at], data[expected + at]);
            differ += 1;
        }
    }
    std::printf("%s: %zu casts, %zu differ\n", path.c_str(), casts, differ);
    return casts > 0 && differ == 0 ? 0 : 1;
}
