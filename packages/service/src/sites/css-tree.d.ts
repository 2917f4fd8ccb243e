declare module 'css-tree/selector-parser' {
  export { parse as default } from 'css-tree'
}
declare module 'css-tree/tokenizer' {
  export { tokenize, tokenTypes } from 'css-tree'
}
declare module 'css-tree/utils' {
  export { ident } from 'css-tree'
}
