/** The package's index has thousands of icons, so import single files. */
declare module '@tabler/icons-react/dist/esm/icons/*.mjs' {
  const Icon: import('react').ComponentType<{
    size?: number
    stroke?: number
    className?: string | undefined
    'aria-hidden'?: boolean
  }>
  export default Icon
}
