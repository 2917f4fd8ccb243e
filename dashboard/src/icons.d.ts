/** Icons are imported one by one: the index of the package has thousands. */
declare module '@tabler/icons-react/dist/esm/icons/*.mjs' {
  const Icon: import('react').ComponentType<{
    size?: number
    stroke?: number
    className?: string | undefined
    'aria-hidden'?: boolean
  }>
  export default Icon
}
