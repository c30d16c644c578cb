/** Re-exports the highlighter alone, so that loading it does not load lowlight's list of all languages. */
export { createLowlight } from 'lowlight';
