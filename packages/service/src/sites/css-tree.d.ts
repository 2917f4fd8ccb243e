declare module 'css-tree/selector-parser' {
  export { parse as default } from 'css-tree'
}
