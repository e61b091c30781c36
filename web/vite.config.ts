import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The running Alfred that `npm run dev` shows. */
const server = process.env["API_URL"] ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react()],
  // Alfred answers its own pages only, so the proxy speaks as one of them.
  server: { proxy: { "/v1": { target: server, changeOrigin: true, headers: { origin: server } } } },
  build: {
    outDir: "../alfred/server/client",
    emptyOutDir: true,
    // `light-dark()` is kept as written, and nothing is inlined: the policy is `default-src 'self'`.
    target: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  test: { include: ["src/**/*.test.ts"] },
});
