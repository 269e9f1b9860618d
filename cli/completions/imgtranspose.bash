# SPDX-License-Identifier: MIT
# Completion of imgtranspose for bash.
_imgtranspose() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= files=
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $before in
        --rotate) words="90 180 270 left right" ;;
        --flip) words="horizontal vertical" ;;
        --geo) words="refuse rewrite" ;;
        --jpeg) words="lossless trim reencode tag" ;;
        --png-filter) words="none sub up average paeth adaptive" ;;
        --png-level) words="0 1 2 3 4 5 6 7 8 9" ;;
        --progress) words="auto always never" ;;
        --backend) words="auto cpu cuda avx512 avx2 ssse3 sse2 neon c" ;;
        --format) words="png jpeg pbm pgm ppm pam pfm tiff webp gif heif avif jxl jp2 hdr bmp v" ;;
        --benchmark) words="full" ;;
        -d | --directory) compopt -o dirnames 2>/dev/null; return ;;
        -o | --output | --files-from | --tasks | --report | --resume) files=1 ;;
        -j | --jobs | --threads | --device | --memory-limit | --max-pixels | --shard | --raw | --backup | \
            --include | --exclude) return ;;
        *)
            files=1
            if [[ $word == -* ]]; then
                files=
                words="--transpose --transverse --rotate --flip --auto-orient --stored
                    -r --recursive --include --exclude --files-from -0 --null --tasks --shard
                    -o --output --format -d --directory --overwrite --skip-existing -p --preserve --sync
                    --in-place --backup --part-links --no-verify
                    --geo --jpeg --png-level --png-filter --raw --strip
                    -j --jobs --threads --memory-limit --max-pixels --backend --device
                    -n --dry-run --fail-fast --report --checksum --resume --progress -q --quiet -v --verbose
                    --benchmark -h --help --help-all --version"
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    [[ -z $files ]] || compopt -o default 2>/dev/null
}
complete -F _imgtranspose imgtranspose
