package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// standardInput is how a path says that documents come from there.
const standardInput = "-"

func readPaths(paths []string, in io.Reader) ([]snapshot.File, error) {
	var files []snapshot.File
	for k, path := range paths {
		if path == standardInput {
			if slices.Contains(paths[:k], path) {
				return nil, errors.New("standard input can be read once: give -f - once")
			}
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			files = append(files, snapshot.File{Name: "standard input", Text: text})
			continue
		}
		names, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			files = append(files, snapshot.File{Name: name, Text: text})
		}
	}
	return files, nil
}

// expand lists the documents below a folder in lexical order; a file that is named is
// read whatever it is called.
func expand(path string) ([]string, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !about.IsDir() {
		return []string{path}, nil
	}
	var names []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name))) {
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("folder %s has no *.yaml, *.yml or *.json", path)
	}
	return names, err
}
