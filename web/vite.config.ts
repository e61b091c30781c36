import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { mockServer } from "./dev/mock.ts";

/** Against a running Alfred: API_URL=http://127.0.0.1:8765 npm run dev; else a mock. */
const server = process.env["API_URL"];

export default defineConfig({
  plugins: [react(), ...(server === undefined ? [mockServer()] : [])],
  server: server === undefined ? {} : { proxy: { "/v1": server } },
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
