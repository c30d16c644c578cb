/** The highlighter alone. A file of its own, so that loading it does not load lowlight's list of all languages. */
export { createLowlight } from 'lowlight';
